// Package pack finds places for tasks on whole and partial GPUs so that the GPUs that stay free are of use. It is a
// model of its own, small enough to replay years of work in a second: hosts with CPU, memory and GPUs of which each
// has so many thousandths free, tasks of which only the shape counts, and policies that value a host for a shape.
package pack
