// Package many drives the real program on many hosts from outside: each in a network namespace of its own (package
// cluster/bed), with real containers, the AWS CLI, and faults. The tests need root, and end with nothing left on the
// machine. PINION_ROUNDS says how often each fault is repeated.
package many
