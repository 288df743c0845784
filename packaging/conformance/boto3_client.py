"""Makes calls with boto3. Each line of input is {"operation", "body"}; each line of output {"answer"} or {"refusal"}, or
{"older"} when this boto3 does not know the operation or a part of what it is asked.

boto3 holds what it is told to send against the service's model before it sends it.
"""
import json
import sys

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError, ParamValidationError

ecs = boto3.client("ecs")
for line in sys.stdin:
    asked = json.loads(line)
    call = getattr(ecs, xform_name(asked["operation"]), None)
    if call is None:
        print(json.dumps({"older": True}), flush=True)
        continue
    try:
        answer = call(**asked["body"])
        answer.pop("ResponseMetadata")
        print(json.dumps({"answer": answer}, default=str), flush=True)
    except ParamValidationError as problem:
        if "Unknown parameter" not in str(problem):
            raise
        print(json.dumps({"older": True}), flush=True)
    except ClientError as refused:
        print(json.dumps({"refusal": refused.response["Error"]["Code"], "answer": str(refused)}), flush=True)
