// Package ssm is Parameter Store of AWS Systems Manager. Sessions of ExecuteCommand, which are signed for the same service, are of package exec.
package ssm
