// Package measure tells the pool what services can be scaled by: what tasks use of this host and its GPUs, which metrics they export, what its proxy sends to tasks of any host, and
// which requests wait because no task serves them.
package measure
