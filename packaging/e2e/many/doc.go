// Package many drives the real program on many hosts from outside: each in a network namespace of its own (package
// testbed), with real containers, Amazon's own clients, and faults. The tests need root, and end with nothing left
// on the machine. Flags say how often each fault is repeated: a few times here, hundreds of times in `make soak`, which
// also fails when a metric misses its target (see metrics_test.go).
package many
