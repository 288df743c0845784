// Package replay runs traces of GPU clusters through the policies of schedule/pack: tasks that were recorded arrive one
// by one, in an order drawn by a seed, until more was asked for than there is. Nothing ever leaves.
//
// The protocol is that of the artifact of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent" (USENIX ATC '23), draw by draw, so that its published numbers come out again.
package replay
