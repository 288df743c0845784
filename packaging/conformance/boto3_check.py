"""Goes through boto3's waiters and paginators of what Pinion has; prints "all passed" at the end."""
import json
import sys

import boto3

ecs = boto3.client("ecs")
quickly = {"Delay": 1, "MaxAttempts": 180}


def pages(operation, key, **request):
    """What all pages list together. Each page has one entry, so that every page but the last needs a token."""
    paginator = ecs.get_paginator(operation)
    return [entry for page in paginator.paginate(PaginationConfig={"PageSize": 1}, **request) for entry in page[key]]


container = json.loads(sys.argv[1])
clusters = {ecs.create_cluster(clusterName=f"paged-{n}")["cluster"]["clusterArn"] for n in range(3)}
assert clusters <= set(pages("list_clusters", "clusterArns"))
definitions = [ecs.register_task_definition(family=f"paged-{n}", networkMode="none", containerDefinitions=[container])["taskDefinition"] for n in range(3)]
arns = [d["taskDefinitionArn"] for d in definitions]
assert [a for a in pages("list_task_definitions", "taskDefinitionArns", status="ACTIVE") if "paged-" in a] == arns
assert pages("list_task_definition_families", "families", familyPrefix="paged-") == ["paged-0", "paged-1", "paged-2"]
assert ecs.describe_task_definition(taskDefinition="paged-0")["taskDefinition"] == definitions[0]

instances = pages("list_container_instances", "containerInstanceArns")
assert len(instances) == 1
attributes = pages("list_attributes", "attributes", targetType="container-instance")
assert len({a["name"] for a in attributes}) == len(attributes) > 1
assert len(pages("list_account_settings", "settings", effectiveSettings=True)) > 10
assert pages("list_services", "serviceArns") == []

tasks = [ecs.run_task(taskDefinition=arn, startedBy="paged")["tasks"][0]["taskArn"] for arn in arns]
ecs.get_waiter("tasks_running").wait(tasks=tasks, WaiterConfig=quickly)
assert sorted(pages("list_tasks", "taskArns", startedBy="paged")) == sorted(tasks)
for task in tasks:
    ecs.stop_task(task=task, reason="enough")
ecs.get_waiter("tasks_stopped").wait(tasks=tasks, WaiterConfig=quickly)
assert {t["stoppedReason"] for t in ecs.describe_tasks(tasks=tasks)["tasks"]} == {"enough"}

for n in range(2):
    ecs.create_service(serviceName=f"paged-{n}", taskDefinition=arns[n], desiredCount=1, tags=[{"key": "pinion.healthy-after", "value": "1s"}])
services = pages("list_services", "serviceArns")
ecs.get_waiter("services_stable").wait(services=services, WaiterConfig=quickly)
assert [s["runningCount"] for s in ecs.describe_services(services=services)["services"]] == [1, 1]
scaling = boto3.client("application-autoscaling")
named = {"ServiceNamespace": "ecs", "ResourceId": "service/default/paged-0", "ScalableDimension": "ecs:service:DesiredCount"}
target = scaling.register_scalable_target(**named, MinCapacity=0, MaxCapacity=3, Tags={"team": "vision"})["ScalableTargetARN"]
metrics = {"queue": ("Pinion", "QueueDepth"), "gpu": ("Pinion", "GPUUtilization"), "requests": ("Pinion", "RequestsInFlight")}
for name, (namespace, metric) in metrics.items():
    customized = {"Namespace": namespace, "MetricName": metric, "Statistic": "Average"}
    scaling.put_scaling_policy(**named, PolicyName=name, PolicyType="TargetTrackingScaling",
                               TargetTrackingScalingPolicyConfiguration={"TargetValue": 2.5, "CustomizedMetricSpecification": customized})
scaling.put_scheduled_action(**named, ScheduledActionName="night", Schedule="cron(0 22 * * ? *)", ScalableTargetAction={"MaxCapacity": 1})
steps = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}], "Cooldown": 60}
policy = scaling.put_scaling_policy(**named, PolicyName="steps", PolicyType="StepScaling", StepScalingPolicyConfiguration=steps)["PolicyARN"]
watching = boto3.client("cloudwatch")
alarm = {"Namespace": "AWS/ECS", "MetricName": "CPUUtilization", "Statistic": "Average", "Period": 60, "EvaluationPeriods": 2, "Threshold": 70.5,
         "ComparisonOperator": "GreaterThanThreshold", "Dimensions": [{"Name": "ClusterName", "Value": "default"}, {"Name": "ServiceName", "Value": "paged-0"}]}
for n in range(3):
    watching.put_metric_alarm(AlarmName=f"paged-{n}", AlarmActions=[policy], Tags=[{"Key": "team", "Value": "vision"}], **alarm)
described = [a for page in watching.get_paginator("describe_alarms").paginate(PaginationConfig={"PageSize": 1}) for a in page["MetricAlarms"]]
assert [a["AlarmName"] for a in described] == ["paged-0", "paged-1", "paged-2"]
assert {name: described[0][name] for name in alarm} == alarm and described[0]["StateValue"] in ("INSUFFICIENT_DATA", "OK"), described[0]
assert described[0]["StateUpdatedTimestamp"].tzinfo, described[0]
assert watching.list_tags_for_resource(ResourceARN=described[0]["AlarmArn"])["Tags"] == [{"Key": "team", "Value": "vision"}]
configured = scaling.describe_scaling_policies(ServiceNamespace="ecs", PolicyNames=["steps"])["ScalingPolicies"][0]
assert configured["StepScalingPolicyConfiguration"] == steps and len(configured["Alarms"]) == 3, configured
try:
    watching.put_metric_alarm(AlarmName="mail", AlarmActions=["arn:aws:sns:us-east-1:123456789012:mail"], **alarm)
    raise AssertionError("an action of SNS was taken")
except watching.exceptions.ClientError as refused:
    assert refused.response["Error"]["Code"] == "ValidationError" and "sns" in str(refused), refused
watching.delete_alarms(AlarmNames=[a["AlarmName"] for a in described])
try:
    watching.delete_alarms(AlarmNames=["paged-0"])
    raise AssertionError("an alarm was deleted twice")
except watching.exceptions.ResourceNotFound:
    scaling.delete_scaling_policy(**named, PolicyName="steps")


def scaled(operation, key):
    pages = scaling.get_paginator(operation).paginate(ServiceNamespace="ecs", PaginationConfig={"PageSize": 1})
    return [entry for page in pages for entry in page[key]]


assert [t["ScalableTargetARN"] for t in scaled("describe_scalable_targets", "ScalableTargets")] == [target]
assert sorted(p["PolicyName"] for p in scaled("describe_scaling_policies", "ScalingPolicies")) == sorted(metrics)
assert [a["ScheduledActionName"] for a in scaled("describe_scheduled_actions", "ScheduledActions")] == ["night"]
assert scaling.list_tags_for_resource(ResourceARN=target)["Tags"] == {"team": "vision"}
scaling.deregister_scalable_target(**named)
assert scaled("describe_scalable_targets", "ScalableTargets") == []

for arn in services:
    ecs.update_service(service=arn, desiredCount=0)
    ecs.delete_service(service=arn)
ecs.get_waiter("services_inactive").wait(services=services, WaiterConfig=quickly)

for arn in arns:
    ecs.deregister_task_definition(taskDefinition=arn)
for arn in clusters:
    ecs.delete_cluster(cluster=arn)
print("all passed")
