"""Drives every operation of one host with boto3, waiters and paginators included; prints "all parsed" at the end."""
import boto3

ecs = boto3.client("ecs")
ecs.create_cluster(clusterName="boto")
assert ecs.describe_clusters(clusters=["boto", "nowhere"], include=["STATISTICS", "TAGS"])["failures"][0]["reason"] == "MISSING"
assert any(arn.endswith("/boto") for page in ecs.get_paginator("list_clusters").paginate(PaginationConfig={"PageSize": 1}) for arn in page["clusterArns"])
definition = ecs.register_task_definition(
    family="boto",
    containerDefinitions=[{"name": "c", "image": "busybox", "memory": 64, "command": ["sleep", "1000"], "stopTimeout": 2,
                           "resourceRequirements": [{"type": "GPU", "value": "1"}]}],
)["taskDefinition"]
arn = definition["taskDefinitionArn"]
assert ecs.describe_task_definition(taskDefinition="boto")["taskDefinition"] == definition
assert arn in [a for page in ecs.get_paginator("list_task_definitions").paginate(familyPrefix="boto") for a in page["taskDefinitionArns"]]
assert "boto" in ecs.list_task_definition_families(familyPrefix="bot")["families"]
instances = ecs.list_container_instances()["containerInstanceArns"]
ecs.describe_container_instances(containerInstances=instances, include=["TAGS", "CONTAINER_INSTANCE_HEALTH"])
ran = ecs.run_task(taskDefinition="boto")
assert ran["tasks"][0]["lastStatus"] == "PENDING" and len(ran["tasks"][0]["containers"][0]["gpuIds"]) == 1, ran
started = ecs.start_task(taskDefinition="boto", containerInstances=instances)
tasks = [t["taskArn"] for t in ran["tasks"] + started["tasks"]]
ecs.get_waiter("tasks_running").wait(tasks=tasks, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
assert set(tasks) <= {a for page in ecs.get_paginator("list_tasks").paginate() for a in page["taskArns"]}
for task in tasks:
    ecs.stop_task(task=task, reason="enough")
ecs.get_waiter("tasks_stopped").wait(tasks=tasks, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
assert ecs.describe_tasks(tasks=tasks)["tasks"][0]["stoppedReason"] == "enough"
assert ecs.deregister_task_definition(taskDefinition=arn)["taskDefinition"]["status"] == "INACTIVE"
print("all parsed")
