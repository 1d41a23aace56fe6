"""The secure aggregation of the example for Flower: its real parts in one process, without network.

Flower has an environment of its own. One process there runs all cases of flower_cases.py and prints
what happened; each test asserts on its case.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAGES = ["setup", "share_keys", "collect_masked_vectors", "unmask"]
NAMES = ["public keys", "shares of keys", "masked vectors", "unmasking"]
TOLD = ["threshold", "clipping_range", "sample_num", "share_num", "target_range", "mod_range"]
SILENT = ["RefusalError: this site takes no part; its own log says why"]

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs_jit,
    pytest.mark.skipif(sys.platform == "win32", reason="needs Linux or macOS"),
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """What happened in each case, by its name."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        environment = importlib.import_module("flower.environment")
        python = environment.flower_python()
        own = {
            "FLWR_HOME": str(tmp_path_factory.mktemp("home")),
            "FLWR_TELEMETRY_ENABLED": "0",
            "PYTHONPATH": str(ROOT),
        }
        variables = {**os.environ, **environment.variables(), **own}
    for name in set(sys.modules) - before:
        if name.startswith(("_environment", "_flower")):
            del sys.modules[name]
    script, folder = Path(__file__).with_name("flower_cases.py"), tmp_path_factory.mktemp("budgets")
    ended = subprocess.run(
        [str(python), str(script), str(folder)],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        timeout=1200,
    )
    assert ended.returncode == 0, ended.stderr
    return {found["case"]: found for found in map(json.loads, ended.stdout.splitlines())}


@pytest.fixture
def case(cases):
    def found(name):
        assert "crash" not in cases[name], cases[name]["crash"]
        return cases[name]["found"]

    return found


def is_summed(found, reports):
    """Assert that the sum is that of dpcore's clients, bit for bit."""
    assert found["error"] is None
    assert found["equal"] is True
    assert found["reports"] == reports
    assert not found["refused"]


def is_closed(found, left, clients, required, stage="masked vectors"):
    """Assert that a round has failed before anything could be opened."""
    assert found["sum"] is None
    assert found["error"] == (
        f"RoundError: too few clients after the stage of {stage}: {left} of {clients} are left,"
        f" and {required} are required. Nothing was opened."
    )
    assert "unmask" not in found["sent"]


def all_refuse(found, reason, cause="NoneType"):
    assert sorted(found["refused"]) == list("01234")
    assert all(each == [reason, cause] for each in found["refused"].values())


@pytest.mark.parametrize("clients", [2, 5, 40, 100])
def test_the_sum_is_that_of_the_clients_vectors(case, clients):
    is_summed(case(f"{clients}"), clients)


def test_the_second_round_has_another_sum(case):
    is_summed(case("5 scores"), 5)
    assert case("5 scores")["sum"] != case("5")["sum"]


@pytest.mark.parametrize("name", ["projection", "hosmer-lemeshow"])
def test_sums_of_functions_are_exact_too_without_a_lost_site(case, name):
    is_summed(case(f"5 {name}"), 4)


@pytest.mark.parametrize("clients", [5, 40])
def test_both_masks_give_the_same_sum(case, clients):
    is_summed(case(f"{clients} flower"), clients)
    assert case(f"{clients} flower")["sum"] == case(f"{clients}")["sum"]


@pytest.mark.parametrize("at", range(4))
def test_one_of_five_may_be_lost_in_any_stage(case, at):
    found = case(f"5 lost 1 {STAGES[at]}")
    is_summed(found, 5 if STAGES[at] == "unmask" else 4)
    assert found["answered"] == {stage: 5 - (each >= at) for each, stage in enumerate(STAGES)}


@pytest.mark.parametrize("clients", [40, 100])
def test_as_many_as_allowed_may_be_lost_over_all_stages(case, clients):
    each = clients // 20
    found = case(f"{clients} lost {each} each")
    is_summed(found, clients - 3 * each)
    left = [clients - each * at for at in range(1, 5)]
    assert found["answered"] == dict(zip(STAGES, left, strict=True))


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(("clients", "lost"), [(5, 2), (40, 9)])
def test_nothing_is_opened_if_one_too_many_is_lost(case, clients, lost, at):
    found = case(f"{clients} lost {lost} {STAGES[at]}")
    is_closed(found, clients - lost, clients, clients - lost + 1, NAMES[at])
    assert list(found["sent"]) == STAGES[: at + 1]


def test_too_few_shares_of_keys_open_nothing_in_the_last_stage(case):
    found = case("5 lost 2 unmask")
    assert found["sum"] is None
    assert "unmasking: 3 of 5 are left, and 4 are required" in found["error"]
    assert found["error"].endswith("count this round as spent.")
    assert "Nothing was opened" not in found["error"]
    assert found["answered"]["unmask"] == 3  # and a key takes 4 shares


def test_all_vectors_are_in_the_sum_if_clients_leave_after_that(case):
    """More than allowed, but each key has enough neighbours, and the noise is all there."""
    is_summed(case("40 lost 9 unmask"), 40)


def test_sites_with_more_records_than_the_public_bound_send_nothing(case):
    found = case("records small")
    assert min(found["sizes"]) > 100
    is_closed(found, 0, 5, 4)
    all_refuse(found, *SILENT, "ValueError")  # the reason would tell about records


def test_a_bound_of_records_that_does_not_fit_is_refused_before_anything_is_sent(case):
    found = case("records large")
    assert found["error"].startswith("ParameterError: most_records must leave room for noise: ")
    assert found["error"].endswith(f"got {2**30}")
    assert found["sent"] == {}


@pytest.mark.parametrize("name", [*TOLD, "max_weight"])
def test_clients_refuse_other_parameters_of_secure_aggregation(case, name):
    found = case(f"told {name}")
    is_closed(found, 0, 5, 4)
    reasons = {each[0] for each in found["refused"].values()}
    assert len(found["refused"]) == 5
    assert all(each.startswith(f"RefusalError: {name} = ") for each in reasons)


def test_clients_refuse_another_number_of_clients(case):
    is_closed(case("told clients"), 0, 5, 4)
    all_refuse(
        case("told clients"), "RefusalError: the server has other parameters for the round 'cdf'"
    )


def test_a_site_answers_a_round_once(case):
    first, second = case("twice")
    is_summed(first, 5)
    assert second["sum"] is None
    assert second["sent"]["unmask"] == 5  # those of the first round
    all_refuse(second, "RefusalError: this site has already answered the round 'cdf'")
    local = case("twice local")
    assert local["reports"] > 0
    assert local["error"].startswith("0 reports are settled")
    assert local["refused"] == ["this site has already answered the round 'cdf'"] * 5


def test_a_budget_is_charged_for_each_round(case):
    cdf, roc = case("budget")
    assert (cdf["error"], roc["error"]) == (None, None)
    assert (cdf["spent"], roc["spent"]) == ([1.0] * 5, [2.0] * 5)


def test_a_site_refuses_when_its_budget_is_spent(case):
    cdf, roc = case("budget spent")
    assert cdf["error"] is None
    assert "0 of 5 are left" in roc["error"]
    all_refuse(roc, *SILENT, "BudgetError")
    assert roc["spent"] == [1.0] * 5
    assert roc["sent"]["unmask"] == 5  # those of the round before


@pytest.mark.parametrize(
    ("name", "said"),
    [("seed", "seed = 5: must be -1"), ("masks", "masks = 'flower': must be 'full-seed'")],
)
def test_a_site_with_a_budget_takes_part_in_no_studies(case, name, said):
    [found] = case(f"budget {name}")
    is_closed(found, 0, 5, 4)
    all_refuse(found, f"RefusalError: {said}, as this site takes part in no studies")
    assert found["spent"] == [0.0] * 5


def test_a_site_with_a_budget_tells_no_times(case):
    [found] = case("budget measure")
    assert found["error"] is None
    assert found["costs"] == 0
    assert case("measure")["costs"] == 20  # others tell them in every stage


def test_a_site_refuses_more_clients_than_it_knows_of(case):
    is_closed(case("too many clients"), 0, 5, 4)
    all_refuse(
        case("too many clients"), "RefusalError: clients: 5 are asked, but this site knows of 4"
    )
    is_closed(case("number of sites missing"), 0, 5, 4)
    all_refuse(
        case("number of sites missing"),
        "RefusalError: the node config of a site needs num-partitions, the number of all sites",
    )


def test_local_reports_add_up_as_in_a_server_of_dpcore(case):
    found = case("local")
    assert found["equal"]
    assert len(set(found["reports"])) == 1
    assert found["sent"] == {"reports": 5}


def test_a_damaged_report_is_left_out_and_the_others_count(case):
    found = case("local damaged")
    assert found["equal"]
    assert found["reports"][:2] == [found["reports"][2] - 1] * 2


def test_a_masked_vector_does_not_show_the_vector(case):
    found = case("what leaves a site")
    assert found["same sum"]
    for site in found["sites"]:
        assert site["equal to vector"] == [0, 0]  # by chance: once in 10^7 runs
        assert site["equal to each other"] == 0
        assert not site["weights equal"]
        assert 0 <= site["least"] < 2**29
        assert 7 * 2**29 < site["largest"] < 2**32


def test_what_a_site_sends_does_not_depend_on_how_many_records_it_has(case):
    """The number of examples is that of a message, and it is 1 whatever the records are."""
    sites = case("what leaves a site")["sites"]
    assert len({site["records"] for site in sites}) == 5
    for site in sites:
        assert site["metrics"] == {"fitres.num_examples": {"num_examples": 1}}
        assert site["configs"]["fitres.metrics"] == {}
        assert site["arrays"] == [0]
    for name in ("words", "lengths", "size", "configs"):
        assert all(site[name] == sites[0][name] for site in sites)


def test_what_a_site_sends_fits(case):
    found = case("what fits")
    assert 0 < max(found["largest"]) < found["bound"]
    assert 100 * found["range"] == 200 * found["bound"] < 2**32


def test_masks_use_the_whole_seed_and_are_uniform(case):
    found = case("masks")
    assert found["deterministic"]
    assert found["type"] == "int64"
    assert found["shapes"]
    assert found["a stream"]
    assert len(found["equal after a change"]) == 32
    assert max(found["equal after a change"]) < 1e-3
    for bits, drawn in found["tables"].items():
        assert 0 <= drawn["least"] <= drawn["largest"] < 2 ** int(bits)
        spread = 5 * math.sqrt(2 * drawn["freedom"])
        for statistic in (drawn["low"], drawn["high"]):
            assert abs(statistic - drawn["freedom"]) < spread


def test_masks_refuse_other_moduli(case):
    for modulus, error in case("masks")["refused"].items():
        assert error == (
            f"ParameterError: num_range must be a power of two, at most 2^32; got {modulus}"
        )
