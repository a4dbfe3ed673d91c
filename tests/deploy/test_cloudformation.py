"""The CloudFormation template: what it makes passes `penstock doctor` with few permissions."""

import asyncio
import json
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest

from penstock.datastore.iam_policy import server_policy, with_destinations
from penstock.datastore.table.port import INDEX, TTL
from penstock.server.command_line import run
from penstock.server.settings.settings import Settings
from tests.server.commands.doctor_report import examine, isolate
from tests.support.stores import REGION, aws_environment, moto_endpoint

TEMPLATE = Path(__file__).parents[2] / "deploy" / "cloudformation.yaml"
ORIGINS = ("https://app.example.org", "https://b.example.org")
STACK, TABLE, BUCKET, DOMAIN = "penstock-stack", "penstock-of-stack", "files-of-stack", "p.test"

NOT_MADE_BY_MOTO = {"AWS::CloudWatch::Alarm", "AWS::S3::BucketPolicy"}
"""The types that moto's CloudFormation passes over; cfn-lint alone checks them."""


class Stack(NamedTuple):
    """A stack that was made: the outputs, and the types of what was made."""

    outputs: Mapping[str, str]
    types: set[str]


def resources() -> dict[str, Any]:
    # Its import takes more than half a second, and every worker collects these tests.
    template, problems = import_module("cfnlint.decode").decode(str(TEMPLATE))
    assert problems == []
    found: dict[str, Any] = template["Resources"]
    return found


def properties(name: str) -> dict[str, Any]:
    found: dict[str, Any] = resources()[name]["Properties"]
    return found


def client_of(service: str) -> Any:
    with aws_environment():
        return boto3.client(service, region_name=REGION, endpoint_url=moto_endpoint())


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """Make the stack in moto, and what moto's CloudFormation leaves out of its resources."""
    formation = client_of("cloudformation")
    parameters = [
        {"ParameterKey": name, "ParameterValue": value} for name, value in _parameters().items()
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Tried to parse .* not supported by moto")
        formation.create_stack(
            StackName=STACK,
            TemplateBody=TEMPLATE.read_text(),
            Parameters=parameters,
            Capabilities=["CAPABILITY_IAM"],
        )
        (made,) = formation.describe_stacks(StackName=STACK)["Stacks"]
        listed = formation.describe_stack_resources(StackName=STACK)["StackResources"]
    assert made["StackStatus"] == "CREATE_COMPLETE"
    _complete()
    outputs = {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]}
    yield Stack(outputs, {one["ResourceType"] for one in listed if "ResourceType" in one})
    client_of("dynamodb").update_table(TableName=TABLE, DeletionProtectionEnabled=False)
    formation.delete_stack(StackName=STACK)


def _parameters() -> dict[str, str]:
    network = client_of("ec2")
    vpc = network.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        network.create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=f"{REGION}{zone}"
        )["Subnet"]["SubnetId"]
        for n, zone in enumerate("ab")
    ]
    certificate = client_of("acm").request_certificate(DomainName=DOMAIN)["CertificateArn"]
    return {
        "Image": "registry.test/penstock:1",
        "DomainName": DOMAIN,
        "Certificate": certificate,
        "Vpc": vpc,
        "PublicSubnets": ",".join(subnets),
        "TaskSubnets": ",".join(subnets),
        "Issuer": "https://login.example.org",
        "Audience": "penstock",
        "AllowedOrigins": ",".join(ORIGINS),
        "TableName": TABLE,
        "BucketName": BUCKET,
    }


def _complete() -> None:
    """Apply time to live, recovery and CORS rules, which moto's CloudFormation ignores."""
    client_of("dynamodb").update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification=properties("Table")["TimeToLiveSpecification"]
    )
    client_of("dynamodb").update_continuous_backups(
        TableName=TABLE,
        PointInTimeRecoverySpecification=properties("Table")["PointInTimeRecoverySpecification"],
    )
    (rule,) = properties("Bucket")["CorsConfiguration"]["CorsRules"]
    rules = {"AllowedMethods": rule["AllowedMethods"], "AllowedOrigins": list(ORIGINS)}
    client_of("s3").put_bucket_cors(Bucket=BUCKET, CORSConfiguration={"CORSRules": [rules]})


def test_cfn_lint_finds_nothing() -> None:
    found = import_module("cfnlint.api").lint_all(TEMPLATE.read_text())
    assert [str(match) for match in found if match.rule.severity != "informational"] == []


def test_every_resource_is_made_but_for_the_types_that_moto_lacks(stack: Stack) -> None:
    assert {one["Type"] for one in resources().values()} - stack.types == NOT_MADE_BY_MOTO
    assert stack.outputs["Url"] == f"https://{DOMAIN}/graphql"
    assert (stack.outputs["TableName"], stack.outputs["BucketName"]) == (TABLE, BUCKET)


async def test_the_doctor_finds_no_fault_in_what_was_made(
    stack: Stack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with isolate(tmp_path, monkeypatch), aws_environment():
        for name, value in _environment().items():
            if name not in ("PENSTOCK_ISSUER", "PENSTOCK_AUDIENCE"):
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("PENSTOCK_ENDPOINT_URL", moto_endpoint())
        monkeypatch.setenv("PENSTOCK_S3_ENDPOINT_URL", moto_endpoint())
        assert await asyncio.to_thread(run, ["table", "create"]) == 0
        capsys.readouterr()
        report = await examine(capsys)
    assert set(report.levels.values()) == {"ok"}
    assert {"table", "table keys", "index", "ttl", "bucket", "cors"} <= report.levels.keys()
    assert report.code == 0


def test_the_role_has_the_permissions_of_the_server_and_no_more(stack: Stack) -> None:
    roles = client_of("iam")
    name = stack.outputs["TaskRoleArn"].rpartition("/")[2]
    assert roles.list_attached_role_policies(RoleName=name)["AttachedPolicies"] == []
    (policy,) = roles.list_role_policies(RoleName=name)["PolicyNames"]
    document = roles.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
    account = client_of("sts").get_caller_identity()["Account"]
    wanted = server_policy(TABLE, BUCKET, region=REGION, account=account)
    found = document if isinstance(document, dict) else json.loads(document.replace("'", '"'))
    assert found == with_destinations(wanted, REGION, account)


def test_the_tasks_settings_are_accepted_by_the_server(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = _environment()
    fields = {f"PENSTOCK_{name.upper()}" for name in Settings.model_fields}
    assert environment.keys() <= fields
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load()
    assert (settings.store, settings.table, settings.bucket) == ("dynamodb", TABLE, BUCKET)
    assert tuple(settings.allowed_origins) == ORIGINS
    assert settings.admin_port == int(properties("Targets")["HealthCheckPort"])
    assert settings.idle_seconds > _attribute("Balancer", "idle_timeout.timeout_seconds")
    stop = _container()["StopTimeout"]
    assert _attribute("Targets", "deregistration_delay.timeout_seconds") <= stop
    assert settings.shutdown_seconds < stop


def test_the_table_is_protected_and_is_the_one_that_the_server_makes() -> None:
    table = properties("Table")
    assert table["DeletionProtectionEnabled"] is True
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": TTL, "Enabled": True}
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == [INDEX]
    for name in ("Table", "Bucket"):
        assert resources()[name]["DeletionPolicy"] == "Retain"
    assert set(properties("Bucket")["PublicAccessBlockConfiguration"].values()) == {True}


def _environment() -> dict[str, str]:
    tasks = client_of("ecs").describe_task_definition(taskDefinition="penstock")
    (container,) = tasks["taskDefinition"]["containerDefinitions"]
    return {one["name"]: one["value"] for one in container["environment"]}


def _container() -> dict[str, Any]:
    (found,) = properties("TaskDefinition")["ContainerDefinitions"]
    container: dict[str, Any] = found
    return container


def _attribute(name: str, key: str) -> int:
    kind = "LoadBalancerAttributes" if name == "Balancer" else "TargetGroupAttributes"
    (value,) = [one["Value"] for one in properties(name)[kind] if one["Key"] == key]
    return int(value)
