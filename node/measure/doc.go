// Package measure measures what services can be scaled by: the usage that tasks make of this host and its GPUs, the metrics that they export, the
// proxy's traffic to tasks of any host, and which requests wait because no task serves them.
package measure
