// Package rpc is how the hosts of a pool call one another: typed calls over HTTP, errors that keep their meaning on the
// wire, the leader and the one retry policy for calls to it, batches, and broadcasts.
package rpc
