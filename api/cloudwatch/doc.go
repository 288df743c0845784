// Package cloudwatch is Amazon CloudWatch Logs as far as Pinion speaks it: the operations that read, over the logs that the
// hosts keep. It knows no HTTP and no signature; the door in package api hands it a body and writes down its answer.
//
// Nothing is stored for it. A log group is there when a task definition names it (awslogs-group), and a stream when a task
// of that definition has a host. What a task wrote is forgotten with the task.
package cloudwatch
