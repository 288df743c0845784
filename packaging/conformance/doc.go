// Package conformance asks a real pinion with the clients that people use: the AWS CLI, boto3, the AWS SDK for Go v2 and
// Terraform with the AWS provider. One scenario (scenario_test.go) goes through each client that can make any call, and
// as bare HTTP, where every answer is compared with the public model of the service that botocore carries. A client that
// is not on this machine is skipped, named, and not counted in the last line. The tests need root, and end with
// nothing left on the machine.
package conformance
