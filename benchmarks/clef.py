"""Questions a second of a Clef release by the size of a batch, with 255 options. Prints JSON.

    python -m benchmarks.clef --folder /models/clef-flash
    python -m benchmarks.clef --folder TINY --random 9b    # random weights of a realistic size
    python -m benchmarks.clef --folder TINY --device cpu --dtype float32 --options 20 --seconds 5

``--random`` takes only code and tokenizer from the folder (a tiny release of clef-finetune will do) and
fills a backbone of about that many parameters with noise in the memory of the device: speed does
not depend on what weights are. Its sizes are those usual for such a model, not Clef's own, which
are in the release. Writes a table with ``--table FILE``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from beeline.question import Question
from protocols.clef import body_of
from protocols.clef_release import Release, ReleaseSettings, Scored, load_code

BATCHES = (1, 4, 8, 16)
#: hidden, feed-forward, layers, heads, key-value heads, vocabulary
SIZES = {
    "tiny": (64, 128, 4, 4, 2, 512),
    "9b": (4096, 12288, 36, 32, 8, 151_936),
    "27b": (5120, 17408, 64, 40, 8, 151_936),
}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", help="a release")
    parser.add_argument("--random", choices=sorted(SIZES), help="random weights of this size")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--options", type=int, default=255)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each size of a batch")
    parser.add_argument("--table", type=Path)
    asked = parser.parse_args()
    if asked.folder is None:
        print('{"skipped": "needs the folder of a release, --folder DIR (docs/clef.md)"}')
        return 0
    settings = ReleaseSettings(
        folder=asked.folder, device=asked.device, dtype=asked.dtype, batch_tokens=1 << 40
    )
    release = Release(settings, random_model(settings, asked.random) if asked.random else None)
    rows = []
    for size in BATCHES:
        bodies = [body_of(question(i, asked.options)) for i in range(size)]
        first = release.score(bodies)
        if not all(isinstance(one, Scored) for one in first):
            raise SystemExit(f"a question was refused: {first[0]}")
        passes, started = 0, time.perf_counter()
        while passes < 2 or time.perf_counter() - started < asked.seconds:
            release.score(bodies)  # reads numbers back, so it waits for the device
            passes += 1
        spent = time.perf_counter() - started
        tokens = sum(one.input_tokens for one in first if isinstance(one, Scored))
        rows.append(
            {
                "batch": size,
                "questions_per_s": round(size * passes / spent, 3),
                "tokens_per_s": round(tokens * passes / spent),
                "tokens_a_question": tokens // size,
                "peak_gb": peak_gb(release),
            }
        )
    print(
        json.dumps(
            {
                "device": device_name(release),
                "weights": asked.random or asked.folder,
                "options": asked.options,
                "rows": rows,
            },
            indent=2,
        )
    )
    if asked.table:
        lines = ["| batch | questions/s | tokens/s | tokens a question | peak GB |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
        asked.table.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


def question(number: int, options: int) -> Question:
    """One of a puzzle's, as long as a domain's usually are."""
    texts = tuple(
        f"Row 1: {(n * 7) % 9} {(n + number) % 8} {n % 7}; row 2: {n % 5} {n // 5} {n % 3}; row 3: {n}"
        for n in range(options)
    )
    return Question(
        "Slide tiles.", "Row 1: 1 2 3; row 2: 4 5 6; row 3: 7 8", "A tile moves.", "Which?", texts
    )


def random_model(settings: ReleaseSettings, size: str) -> tuple[Any, Any]:
    """Backbone and head of the released kind with random weights, and the folder's tokenizer."""
    import torch
    from transformers import AutoConfig, AutoProcessor, Qwen3_5ForConditionalGeneration

    code = load_code(Path(settings.folder))
    device = torch.device(
        ("cuda" if torch.cuda.is_available() else "cpu") if settings.device == "auto" else settings.device
    )
    hidden, feedforward, layers, heads, key_values, vocabulary = SIZES[size]
    config = AutoConfig.from_pretrained(settings.folder)
    text = config.text_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = hidden, feedforward, layers
    text.num_attention_heads, text.num_key_value_heads, text.head_dim = heads, key_values, hidden // heads
    text.vocab_size, text.max_position_embeddings = vocabulary, 131_072
    text.linear_num_key_heads, text.linear_num_value_heads = key_values, heads
    text.linear_key_head_dim = text.linear_value_head_dim = hidden // heads
    text.layer_types = ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(layers)]
    config.vision_config.out_hidden_size = hidden
    head_config = json.loads(Path(settings.folder, "joint_head_config.json").read_text("utf-8"))
    head_config["hidden_size"] = hidden
    torch.set_default_dtype(getattr(torch, settings.dtype))
    try:
        with torch.device(device):
            backbone = Qwen3_5ForConditionalGeneration(config)
            head = code.JointSchemaHead(**head_config)
    finally:
        torch.set_default_dtype(torch.float32)
    return code.ClefModel(backbone, head.float()).to(device).eval(), AutoProcessor.from_pretrained(
        settings.folder
    )


def peak_gb(release: Release) -> float | None:
    """Memory of the device at its fullest; None on a CPU."""
    import torch

    return round(torch.cuda.max_memory_allocated() / 1e9, 1) if release.device.type == "cuda" else None


def device_name(release: Release) -> str:
    """As its maker calls it."""
    import torch

    return torch.cuda.get_device_name(release.device) if release.device.type == "cuda" else "cpu"


if __name__ == "__main__":
    raise SystemExit(main())
