"""Telling Rush Hour boards that few moves solve, in microseconds.

A *blocker* is a vehicle that covers a cell between the red car and the right edge. With k
blockers, k + 1 moves are needed at least: each blocker has to leave the row, and the red car has
to move. They are enough if each blocker can slide off the row as things stand, since blockers
stand in different columns and do not hinder each other there. If one of them is *stuck* (neither
way is free), one more move is needed at least: whatever stands in a stuck blocker's way is
neither the red car nor another blocker, or the blocker moves twice.

So most boards are decided at a glance, and the search that decides the others follows only
states in which the bound leaves it a chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from domains.navigation.rush_hour_board import EXIT_ROW, MASKS, SIZE, Vehicle

__all__ = ["solvable_within"]

MOST_EXPANDED = 300
"""States looked into before the search gives up: about as long as measuring all distances."""


def _cells(column: int, rows: range) -> int:
    return sum(1 << SIZE * row + column for row in rows)


EVERYTHING = (1 << SIZE * SIZE) - 1

WAYS_OFF = {
    (column, length, position): (
        # A vehicle of three has no place above the exit row: that way is never free.
        _cells(column, range(EXIT_ROW - length, position)) if length <= EXIT_ROW else EVERYTHING,
        _cells(column, range(position + length, EXIT_ROW + 1 + length)),
    )
    for column in range(SIZE)
    for length in (2, 3)
    for position in range(EXIT_ROW + 1 - length, EXIT_ROW + 1)
    if position >= 0
}
"""Cells that must be free for a vertical vehicle on the exit row to slide off it, up and down."""


def solvable_within(vehicles: Sequence[Vehicle], moves: int) -> bool | None:
    """Whether a board can be solved in ``moves`` moves or fewer; None when that is not known
    within reasonable work. Vehicle 0 is the red car and has not got out."""
    masks = [MASKS[vehicle.horizontal, vehicle.length, vehicle.line] for vehicle in vehicles]
    columns: list[list[tuple[int, int]]] = [[] for _ in range(SIZE)]
    # A state: positions, three bits a vehicle, and the cells covered.
    code = covered = 0
    for i, vehicle in enumerate(vehicles):
        code |= vehicle.position << 3 * i
        covered |= masks[i][vehicle.position]
        if not vehicle.horizontal:
            columns[vehicle.line].append((i, vehicle.length))

    def bound(code: int, covered: int) -> tuple[int, bool]:
        """1 + blockers, and whether one of them is stuck; if none is, that many moves do."""
        column = (code & 7) + 2
        ahead = (covered >> SIZE * EXIT_ROW & (1 << SIZE) - 1) >> column
        least, stuck = 1, False
        while ahead:
            if ahead & 1:
                least += 1
                if not stuck:
                    for i, length in columns[column]:
                        position = code >> 3 * i & 7
                        if position <= EXIT_ROW < position + length:
                            up, down = WAYS_OFF[column, length, position]
                            stuck = bool(up & covered and down & covered)
                            break
            ahead >>= 1
            column += 1
        return least, stuck

    least, stuck = bound(code, covered)
    if not stuck:
        return least <= moves
    if least + 1 > moves:
        return False
    seen = {code}
    level = [(code, covered)]
    expanded = 0
    for made in range(1, moves):
        following = []
        for code, covered in level:
            expanded += 1
            if expanded > MOST_EXPANDED:
                return None
            for i, mask in enumerate(masks):
                position = code >> 3 * i & 7
                others = covered ^ mask[position]
                still = code ^ position << 3 * i
                for way in (range(position - 1, -1, -1), range(position + 1, len(mask))):
                    for there in way:
                        if mask[there] & others:
                            break
                        after = still | there << 3 * i
                        if after in seen:
                            continue
                        seen.add(after)
                        covered_after = others | mask[there]
                        least, stuck = bound(after, covered_after)
                        if not stuck and made + least <= moves:
                            return True
                        if made + least + stuck <= moves:
                            following.append((after, covered_after))
        level = following
    return False
