// Package pack places tasks on whole and partial GPUs so that the GPUs that stay free are usable. It is a separate model,
// small enough to replay years of work in a second: hosts with CPU, memory and GPUs that are free in thousandths, tasks
// that are only a shape, and policies that score a host for a shape.
package pack
