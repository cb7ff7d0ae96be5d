"""The declaration of flags is complete, and reads as kube-controller-manager's own command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinformer.cli.flags import duration
from kinformer.manager import OptionError, UnknownControllerError
from kinformer.options import options_of
from kinformer_controllers.kubecontrollermanager.controllers import ACCOUNTS, ALIASES, selection_of
from kinformer_controllers.kubecontrollermanager.flags import FLAGS, Effect, Kind
from kinformer_controllers.kubecontrollermanager.gates import KNOWN, split_gates
from kinformer_controllers.kubecontrollermanager.translation import Translation, parse_flags, translate
from kinformer_controllers.shared.gates import GATES
from scripts.catalogue import SECTIONS, specs
from scripts.flags import FLAGS_PAGE, flags_table

#: What `kube-controller-manager --help` of 1.36 has: name, kind, default.
RECORDED = [line.split("\t") for line in Path(__file__).with_name("flags-1.36.tsv").read_text().splitlines()]
#: They are deprecated, and `--help` hides them.
HIDDEN = {"allow-untagged-cloud", "node-sync-period"}
#: What the help shows for a default that is empty.
ZERO = {Kind.BOOL: "false", Kind.INT: "0", Kind.DURATION: "0s"}

#: The command of the static pod that kubeadm 1.36 writes.
KUBEADM = [
    "--allocate-node-cidrs=true",
    "--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf",
    "--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf",
    "--bind-address=127.0.0.1",
    "--client-ca-file=/etc/kubernetes/pki/ca.crt",
    "--cluster-cidr=10.244.0.0/16",
    "--cluster-name=kubernetes",
    "--cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt",
    "--cluster-signing-key-file=/etc/kubernetes/pki/ca.key",
    "--controllers=*,bootstrapsigner,tokencleaner",
    "--kubeconfig=/etc/kubernetes/controller-manager.conf",
    "--leader-elect=true",
    "--requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
    "--root-ca-file=/etc/kubernetes/pki/ca.crt",
    "--service-account-private-key-file=/etc/kubernetes/pki/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--use-service-account-credentials=true",
]
HERE = ("cluster-cidr", "concurrent-job-syncs", "feature-gates")


def translated(*arguments: str, builtin: tuple[str, ...] = ("job", "ttl")) -> Translation:
    return translate(parse_flags(arguments, FLAGS), HERE, builtin)


def test_every_flag_of_kubernetes_is_declared_with_its_default() -> None:
    declared = {name: flag.default for name, flag in FLAGS.items() if name not in HIDDEN}
    recorded = {name: default.strip("[]") or ZERO.get(FLAGS[name].kind, "") for name, _, default in RECORDED}

    recorded |= {"log-text-info-buffer-size": "0", "version": "false"}
    assert declared == recorded


def test_every_flag_that_differs_says_why() -> None:
    for flag in FLAGS.values():
        assert bool(flag.why) or flag.effect in (Effect.SAME, Effect.CONTROLLER), flag.name
        assert bool(flag.here) == (flag.effect is Effect.OTHER), flag.name


def test_the_page_has_the_table_of_the_declaration() -> None:
    assert FLAGS_PAGE.read_text().endswith(flags_table()), "run: python -m scripts.catalogue"


def test_options_of_controllers_have_the_defaults_of_kubernetes() -> None:
    for _, spec in specs().values():
        for option in options_of(spec.options) if spec.options is not None else ():
            flag = FLAGS[option.flag.removeprefix("--")]
            default: object = flag.default
            if flag.kind is Kind.DURATION:
                default = duration(flag.default)
            elif flag.kind in (Kind.BOOL, Kind.INT, Kind.FLOAT):
                default = json.loads(flag.default)
            assert option.default == default, flag.name


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--leader-elect"], "leader-elect", "true"),
        (["--leader_elect=F"], "leader-elect", "false"),
        (["--concurrent-job-syncs", "0x10"], "concurrent-job-syncs", "16"),
        (["-v4"], "v", "4"),
        (["-v=4"], "v", "4"),
        (["-v", "4"], "v", "4"),
        (["--node-monitor-period=1m30s"], "node-monitor-period", "1m30s"),
        (["--controllers=*,-job", "--controllers", "ttl"], "controllers", "*,-job,ttl"),
        (["--feature-gates=A=true", "--feature-gates=B=false"], "feature-gates", "A=true,B=false"),
        (["--kubeconfig=a", "--kubeconfig=b", "--"], "kubeconfig", "b"),
    ],
)
def test_flags_are_read_as_go_reads_them(arguments: list[str], name: str, value: str) -> None:
    assert parse_flags(arguments, FLAGS) == {name: value}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nope=1"], "unknown flag: --nope"),
        (["-x"], "unknown flag '-x'"),
        (["--leader-elect", "false"], "no arguments beside flags, got 'false'"),
        (["--leader-elect=yes"], "--leader-elect is 'yes': want true or false"),
        (["--concurrent-job-syncs=many"], "--concurrent-job-syncs is 'many': want a whole number"),
        (["--node-monitor-period=5"], "--node-monitor-period is '5': want a number and a unit"),
        (["--node-monitor-period=-5s"], "want a duration that is not negative"),
        (["--kubeconfig"], "flag needs an argument: --kubeconfig"),
    ],
)
def test_what_go_would_refuse_is_one_error_that_names_the_flag(arguments: list[str], says: str) -> None:
    with pytest.raises(OptionError, match=says.replace("(", r"\(")):
        parse_flags(arguments, FLAGS)


def test_the_command_of_a_kubeadm_cluster_comes_to_a_manager() -> None:
    made = translated(*KUBEADM)

    assert "--cluster-cidr=10.244.0.0/16" in made.arguments
    assert "--controllers=builtin" in made.arguments
    assert "--leader-elect=true" in made.arguments
    assert "--leader-elect-resource-name=kube-controller-manager" in made.arguments
    assert "--secure-port=10257" in made.arguments
    assert "--shutdown-grace=10s" in made.arguments
    assert made.accounts["daemonset-controller"] == "daemon-set-controller"
    assert "serviceaccount-token-controller" not in made.accounts
    assert made.missing == ["bootstrap-signer-controller", "token-cleaner-controller"]
    assert made.ignored["--requestheader-client-ca-file"].startswith("names of users in headers")
    assert made.ignored["--root-ca-file"] == "its controller is not here."


def test_a_manager_without_flags_has_the_defaults_of_kubernetes() -> None:
    made = translated("--controller-shutdown-timeout=30s", "--secure-port=0")

    assert sorted(made.arguments) == [
        "--controllers=builtin",
        "--leader-elect-resource-name=kube-controller-manager",
        "--leader-elect=true",
        "--secure-port=0",
        "--shutdown-grace=30s",
    ]
    assert made.accounts == made.ignored == {}


def test_a_limit_of_requests_is_the_only_limit_of_deletions() -> None:
    made = translated("--kube-api-qps=5000", "--kube-api-burst=6000")

    assert {"--kube-api-qps=5000", "--kube-api-burst=6000", "--kube-api-delete-qps=0"} <= set(made.arguments)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--master=https://x", "--master is not supported: the kubeconfig has the server's address"),
        ("--enable-leader-migration", "--enable-leader-migration is not supported"),
        ("--emulated-version=1.35", "only `1.36` is accepted"),
        ("--cloud-provider=aws", "want external or nothing"),
        ("--cidr-allocator-type=CloudAllocator", "want RangeAllocator"),
    ],
)
def test_what_cannot_be_had_is_refused(argument: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        translated(argument)


@pytest.mark.parametrize("argument", ["--master=", "--enable-leader-migration=false", "--emulated-version=kube=1.36"])
def test_a_refused_flag_may_ask_for_what_happens_anyway(argument: str) -> None:
    assert translated(argument).ignored == {}


def test_a_gate_of_another_component_is_accepted_and_named() -> None:
    known = next(iter(GATES))
    made = translated(f"--feature-gates={known}=false,kube:MemoryQoS=true,CoordinatedLeaderElection=T")

    assert f"--feature-gates={known}=false" in made.arguments
    assert "--leader-elect-coordinated=true" in made.arguments
    assert made.ignored == {"feature gate MemoryQoS": "no controller here asks for it."}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("HPAScaleToZer=true", "does not know: did you mean HPAScaleToZero"),
        ("MemoryQoS", "want NAME=true or NAME=false"),
        ("JobManagedBy=false", "cannot set JobManagedBy to false: it is locked to true"),
        ("wardle:A=true", "there are no gates of the component 'wardle'"),
    ],
)
def test_a_gate_that_cannot_be_set_is_refused(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        split_gates(text)


def test_the_gates_that_controllers_ask_for_are_those_of_kubernetes() -> None:
    for name, gate in GATES.items():
        assert (KNOWN[name].default, KNOWN[name].stage) == (gate.default, gate.stage), name


def test_every_controller_has_its_name_and_account() -> None:
    names = {name for section in SECTIONS.values() for name in section}
    assert names == set(ACCOUNTS)
    assert set(ALIASES.values()) <= names
    for name, (_, spec) in specs().items():
        for alias in spec.aliases:
            assert ALIASES.get(alias, name) == name


def test_controllers_are_chosen_as_kubernetes_chooses_them() -> None:
    assert selection_of("*,-job,service", ["job", "service", "ttl"]) == (
        ["builtin", "-job", "-service-lb-controller"],
        ["service-lb-controller"],
    )
    assert selection_of("ttl-controller, -tokencleaner", ["job", "ttl"]) == (["ttl-controller"], [])
    with pytest.raises(UnknownControllerError, match="unknown controller 'nope'"):
        selection_of("-nope", ["job"])
