// Package conformance asks a real pinion with the clients that people use: the AWS CLI, boto3, the AWS SDK for Go v2 and
// Terraform with the AWS provider. One scenario (scenario_test.go) goes through each client that can make any call, and
// as bare HTTP, where every answer is compared with the public model of the service that botocore carries: members, JSON
// types, enums, nulls, lists that ECS always shows, errors of the operation. An operation of the core set without steps
// fails a test. Each client has a spare host to deregister.
//
// A client that is not on this machine is skipped, named, and not counted in the last line. TF_PLUGIN_DIR names the folder
// of the AWS provider. The tests need root, and end with nothing left on the machine.
package conformance
