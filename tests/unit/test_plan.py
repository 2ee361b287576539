"""Every state in which a node can be found, and what is decided about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.flavours import Conda
from envsync.lock import LockedPackage, Section
from envsync.model import Host, Platform
from envsync.observation import Observation, Switch
from envsync.plan import Action, Refusal, Standing, Step, make_plan, notes, standing
from envsync.recipe import Recipe

HOST = Host("gpu01")
BARE = Observation(
    home="/home/a",
    user="a",
    hostname="gpu01",
    subdir="linux-64",
    virtual_packages=(),
    conda=Conda("/home/a/miniforge3/bin/conda", "/home/a/miniforge3"),
    envs_dir="/home/a/miniforge3/envs",
    free_bytes=10**12,
)
RECIPE = Recipe("abc", {})
OURS = ".envsync/train/abc"


def decide(seen: Observation) -> Step | Refusal:
    plan = make_plan("train", {HOST: RECIPE}, {HOST: seen})
    (only,) = plan.steps + plan.refusals
    return only


def test_bare_node_is_built() -> None:
    step = decide(BARE)
    assert isinstance(step, Step)
    assert (step.action, step.expected) == (Action.BUILD, "")


def test_current_generation_is_kept_and_is_no_change() -> None:
    plan = make_plan("train", {HOST: RECIPE}, {HOST: replace(BARE, link=OURS, sealed=("abc",))})
    assert plan.steps[0].action is Action.KEEP
    assert plan.changes == ()


def test_sealed_generation_that_is_not_current_is_only_switched_to() -> None:
    step = decide(replace(BARE, link=".envsync/train/old", sealed=("abc", "old")))
    assert isinstance(step, Step)
    assert (step.action, step.expected) == (Action.SWITCH, ".envsync/train/old")


def test_link_to_a_generation_that_is_gone_is_built_again() -> None:
    step = decide(replace(BARE, link=OURS))
    assert isinstance(step, Step)
    assert step.action is Action.BUILD


def test_unsealed_generation_is_built_again() -> None:
    step = decide(replace(BARE, unsealed=("abc",)))
    assert isinstance(step, Step)
    assert step.action is Action.BUILD


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        (replace(BARE, conda=None), "no-conda"),
        (replace(BARE, subdir=""), "no-platform"),
        (replace(BARE, plain="/home/a/miniforge3/envs/train"), "not-ours"),
        (replace(BARE, link="/somewhere/else"), "not-ours"),
        (replace(BARE, link=".envsync/other/abc", sealed=("abc",)), "not-ours"),
        (replace(BARE, free_bytes=4096), "disk-full"),
    ],
)
def test_refusals_name_their_cause_and_the_way_out(seen: Observation, cause: str) -> None:
    refusal = decide(seen)
    assert isinstance(refusal, Refusal)
    assert refusal.cause == cause
    assert refusal.message
    assert refusal.hint


def test_full_disk_does_not_hinder_what_is_already_there() -> None:
    assert isinstance(decide(replace(BARE, free_bytes=0, link=OURS, sealed=("abc",))), Step)


def test_generation_changed_by_hand_is_built_anew_beside_it() -> None:
    step = decide(replace(BARE, link=OURS, changed=("abc",)))
    assert isinstance(step, Step)
    assert (step.action, step.slot.generation, step.expected) == (Action.BUILD, "abc.1", OURS)


def test_second_repair_gets_the_next_number() -> None:
    step = decide(replace(BARE, link=f"{OURS}.1", changed=("abc", "abc.1")))
    assert isinstance(step, Step)
    assert step.slot.generation == "abc.2"


def test_repaired_generation_counts_as_the_wanted_one() -> None:
    step = decide(replace(BARE, link=f"{OURS}.1", changed=("abc",), sealed=("abc.1",)))
    assert isinstance(step, Step)
    assert (step.action, step.slot.generation) == (Action.KEEP, "abc.1")


def test_whole_repair_is_switched_to_when_the_link_points_to_the_changed_one() -> None:
    step = decide(replace(BARE, link=OURS, changed=("abc",), sealed=("abc.1",)))
    assert isinstance(step, Step)
    assert (step.action, step.slot.generation) == (Action.SWITCH, "abc.1")


def test_rebuild_trusts_nothing_that_is_there() -> None:
    seen = replace(BARE, link=OURS, sealed=("abc", "old"))
    (step,) = make_plan("train", {HOST: RECIPE}, {HOST: seen}, rebuild=True).steps
    assert (step.action, step.slot.generation) == (Action.BUILD, "abc.1")


def test_plain_environment_is_renamed_aside_on_request() -> None:
    seen = replace(BARE, plain="/home/a/miniforge3/envs/train")
    (step,) = make_plan("train", {HOST: RECIPE}, {HOST: seen}, replace_plain=True).steps
    assert (step.action, step.expected) == (Action.BUILD, "plain")


def test_host_without_recipe_is_left_out_unless_it_could_not_have_one() -> None:
    bare = Host("gpu02")
    seen = {HOST: BARE, bare: replace(BARE, conda=None)}
    plan = make_plan("train", {}, seen)
    assert (plan.steps, [no.host for no in plan.refusals]) == ((), [bare])


def test_host_that_shares_a_file_system_gets_what_is_done_on_the_other() -> None:
    other = Host("gpu02")
    plan = make_plan("train", {HOST: RECIPE}, {HOST: BARE}).shared({other: HOST})
    assert [(step.host, step.action) for step in plan.steps] == [
        (HOST, Action.BUILD),
        (other, Action.BUILD),
    ]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (None, "was removed by hand; ops@login"),
        (".envsync/train/old", "moved by hand from abc to old"),
        (OURS, ""),
        ("/elsewhere", ""),
    ],
)
def test_link_that_was_changed_by_hand_is_told(link: str | None, said: str) -> None:
    seen = replace(BARE, link=link, sealed=("abc", "old"), history=(Switch(1, "abc", "ops@login"),))
    assert said in "".join(notes(seen, "train"))
    assert bool(notes(seen, "train")) is bool(said)


def for_cuda(*pip: str) -> Recipe:
    section = Section(
        Platform("linux-64"),
        "",
        (LockedPackage("https://c.test/noarch/cuda-version-12.4-h3060b56_3.conda", "a" * 32),),
        pip,
    )
    return Recipe("abc", {}, section)


@pytest.mark.parametrize(
    ("most", "fits"), [("11.4", False), ("12.0", True), ("12.8", True), ("13.0", True), ("", True)]
)
def test_driver_is_looked_at_before_anything_is_installed(most: str, *, fits: bool) -> None:
    seen = replace(BARE, virtual_packages=(("__cuda", most),) if most else ())
    plan = make_plan("train", {HOST: for_cuda()}, {HOST: seen})
    if fits:
        assert plan.steps[0].action is Action.BUILD
        return
    (refusal,) = plan.refusals
    assert refusal.cause == "driver-too-old"
    assert "CUDA 12" in refusal.message
    assert "11.4" in refusal.message
    assert "525.60.13" in refusal.hint


def test_driver_of_an_environment_that_is_current_is_verifys_business() -> None:
    seen = replace(BARE, virtual_packages=(("__cuda", "11.4"),), link=OURS, sealed=("abc",))
    assert make_plan("train", {HOST: for_cuda()}, {HOST: seen}).steps[0].action is Action.KEEP


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (BARE, Standing.NEVER),
        (replace(BARE, plain="/e/train"), Standing.NEVER),
        (replace(BARE, link="/opt/elsewhere"), Standing.NEVER),
        (replace(BARE, link=OURS, sealed=("abc",)), Standing.IN_SYNC),
        (replace(BARE, link=f"{OURS}.2", sealed=("abc.2",), changed=("abc",)), Standing.IN_SYNC),
        (replace(BARE, link=OURS, changed=("abc",)), Standing.DRIFTED),
        (replace(BARE, link=OURS), Standing.DRIFTED),
        (
            replace(BARE, link=".envsync/train/old", sealed=("abc", "old")),
            Standing.DRIFTED,
        ),
        (replace(BARE, sealed=("abc",)), Standing.DRIFTED),
        (replace(BARE, history=(Switch(1, "abc", "me"),)), Standing.DRIFTED),
        (replace(BARE, plain="/e/train", sealed=("abc",)), Standing.DRIFTED),
    ],
)
def test_standing_of_a_node(seen: Observation, expected: Standing) -> None:
    assert standing(seen, "train", RECIPE) is expected


def test_node_whose_platform_nobody_solved_for_is_not_in_sync() -> None:
    assert standing(replace(BARE, link=OURS, sealed=("abc",)), "train", None) is Standing.DRIFTED
    assert standing(BARE, "train", None) is Standing.NEVER
