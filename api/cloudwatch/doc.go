// Package cloudwatch is Amazon CloudWatch Logs as far as Pinion speaks it: the operations that read, over the logs that the
// hosts keep. Only serve.go knows HTTP.
//
// Nothing is stored for it. A log group exists when a task definition names it (awslogs-group), and a stream when a task of that
// definition has a host. The log of a task ends with the task's record.
package cloudwatch
