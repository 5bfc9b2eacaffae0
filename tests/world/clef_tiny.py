"""A Clef behind protocols.serve, in an environment with torch and clef-finetune.

``python -m protocols.serve tests.world.clef_tiny:decide --batch 4`` serves the release in the folder
CLEF_RELEASE (its processor also needs torchvision), or a tiny random one made in memory (0.36M
parameters; its picks mean nothing). Requests of one batch go through the model together.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import torch
from clef_finetune.jsm import load_jsm
from clef_finetune.tiny import TINY_HEAD, _tokenizer, tiny_config
from transformers import Qwen3_5ForConditionalGeneration

from protocols.serve import BadRequest

#: Tokens of one request; 255 options can take 20,000.
MAX_LENGTH = int(os.environ.get("CLEF_MAX_LENGTH", "65536"))
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

_release = os.environ.get("CLEF_RELEASE")
_clef = load_jsm(release_dir=_release)


def _tiny() -> tuple[Any, Any]:
    """Backbone and head of the released shape with random weights; the processor reads text only."""
    torch.manual_seed(0)
    tokenizer = _tokenizer(512)
    head = _clef.JointSchemaHead(**TINY_HEAD)
    with torch.no_grad():  # as trained ones: at zero the head would say nothing
        head.residual_gate.fill_(0.5)
        head.joint_logit_scale.fill_(1.0)
    backbone = Qwen3_5ForConditionalGeneration(tiny_config(tokenizer)).float()
    model = _clef.ClefModel(backbone, head.float()).to(DEVICE).eval()
    return model, SimpleNamespace(tokenizer=tokenizer)


_model, _processor = (
    _tiny() if _release is None else _clef.load_release_model(_release, device=DEVICE, dtype=torch.bfloat16)
)


@torch.inference_mode()
def decide(bodies: list[dict[str, Any]]) -> list[Any]:
    """Encode each, run the model once, answer each question; a request that is too long is refused."""
    results: list[Any] = []
    encoded = []
    for body in bodies:
        try:
            record = _clef.encode_record(
                _processor.tokenizer, body, max_length=MAX_LENGTH, processor=_processor
            )
        except ValueError as error:
            results.append(BadRequest(str(error), error_type="max_tokens_exceeded"))
        else:
            results.append(None)
            encoded.append(record)
    if encoded:
        pad = _processor.tokenizer.pad_token_id
        scored = iter(zip(encoded, _model(_clef.collate_records(encoded, pad, DEVICE)), strict=True))
        for i, body in enumerate(bodies):
            if results[i] is None:
                results[i] = _reply(body, *next(scored))
    return results


def _reply(body: dict[str, Any], record: Any, scores: list[Any]) -> dict[str, Any]:
    answers = {}
    for question, logits in zip(record.questions, scores, strict=True):
        shares = logits.float().softmax(-1).tolist()
        named = dict(zip(question.option_ids, shares, strict=True))
        answers[question.question_id] = _clef.systemone_answer(body["questions"][question.question_id], named)
    return {"answers": answers, "usage": {"input_tokens": len(record.input_ids), "output_tokens": 0}}


def alone(body: dict[str, Any]) -> dict[str, Any]:
    """The release's own function for one request, to compare with."""
    reply: dict[str, Any] = _clef.systemone(_model, _processor, body, max_length=MAX_LENGTH)
    return reply
