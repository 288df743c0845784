// Package replay runs traces of GPU clusters through the policies of schedule/pack: recorded tasks arrive one by one, in an
// order drawn from a seed, until the demand exceeds the capacity. Tasks never end.
//
// The protocol is that of the artifact of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent" (USENIX ATC '23), draw by draw, so that the replay reproduces its published numbers.
package replay
