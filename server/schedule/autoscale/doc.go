// Package autoscale decides how many tasks a scalable target is to have. It is pure: series, counts and the time are arguments, and each
// decision comes with its arithmetic.
package autoscale
