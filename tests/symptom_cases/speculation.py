"""Cases of the symptoms around speculative decoding (3.2)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("low_spec_acceptance",
       present={
           "hardly any": {"spec_acceptance": At("low", -0.005), "spec_drafted": At("floor", 1000)},
           "few, and the steps gain little": {"spec_acceptance": At("low", -0.005), "spec_accept_length": At("pays", -0.01), "spec_drafted": At("floor", 1000)},
           "short steps": {"spec_accept_length": At("short", -0.01), "spec_drafted": At("floor", 1000)},
       },
       absent={
           "good": {"spec_acceptance": At("low", 0.3), "spec_accept_length": At("short", 1)},
           "too few drafts": {"spec_acceptance": At("low", -0.1), "spec_drafted": At("floor", -0.5)},
       },
       look_alike={
           "22 % of eight drafted positions are accepted: each step still gives 2.8 tokens.":
               {"spec_acceptance": 0.22, "spec_accept_length": 2.8, "requests_running": 2, "spec_drafted": 60000},
           "12 % of 40 drafted tokens is one short probe.": {"spec_acceptance": 0.12, "spec_accept_length": 1.2, "requests_running": 1, "spec_drafted": 40},
       }),
    of("spec_acceptance_collapsed",
       present={"good, then dead": {"spec_accept_length_peak": At("good", 2), "spec_accept_length_last": At("dead", -0.01)}},
       absent={"still good": {"spec_accept_length_peak": At("good", 2), "spec_accept_length_last": At("dead", 1.5)}},
       look_alike={"1.00 now and 1.02 at best: a draft that never worked, nothing collapsed.": {"spec_accept_length_peak": 1.02, "spec_accept_length_last": 1.0}}),
    of("spec_acceptance_decay",
       present={"decays": {"spec_decay": At("decay", -0.01), "spec_accept_length_last": At("dead", 0.5)}},
       absent={"holds": {"spec_decay": At("decay", 0.2), "spec_accept_length_last": At("dead", 2)}},
       look_alike={"From 3.1 to 2.7 tokens per step is the mix of prompts changing.": {"spec_decay": 0.87, "spec_accept_length_last": 2.7}}),
    of("spec_accepts_nothing",
       present={"chance level": {"spec_acceptance": At("nothing", -0.0001), "spec_drafted": At("floor", 20000), "config_spec": 1}},
       absent={"something": {"spec_acceptance": At("nothing", 0.3), "spec_drafted": At("floor", 20000), "config_spec": 1}},
       look_alike={"Zero of 120 drafted tokens on the first request says nothing yet.": {"spec_acceptance": 0, "spec_drafted": 120, "config_spec": 1}}),
    of("spec_undecided",
       present={"middling under load": {"spec_acceptance": At("half", -0.005), "requests_running": At("busy", 10), "spec_accept_length": At("short", 1)}},
       absent={"good": {"spec_acceptance": At("half", 0.04), "requests_running": At("busy", 10), "spec_accept_length": At("short", 1)},
               "alone": {"spec_acceptance": At("half", -0.005), "requests_running": At("busy", -0.5), "spec_accept_length": At("short", 1)}},
       look_alike={"40 % at three running requests: steps are short of work there, and 2.6 tokens each is a gain.":
                   {"spec_acceptance": 0.4, "requests_running": 3, "spec_accept_length": 2.6}}),
    of("spec_position_cliff",
       present={"only the first": {"spec_first_position": At("good", 0.1), "spec_second_position": At("cliff", -0.005)}},
       absent={"both": {"spec_first_position": At("good", 0.1), "spec_second_position": At("cliff", 0.3)}},
       look_alike={"80 %, then 55 %: later positions are always accepted less often.": {"spec_first_position": 0.8, "spec_second_position": 0.55}}),
)  # fmt: skip
