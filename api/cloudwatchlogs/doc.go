// Package cloudwatchlogs is Amazon CloudWatch Logs as far as Pinion speaks it: the operations that read, over the logs that the
// hosts keep. Only serve.go knows HTTP.
//
// No log is stored for it. A log group exists when it was created or a task definition names it (awslogs-group), a stream when a task of that
// definition has a host. The log of a task ends with the task's record.
package cloudwatchlogs
