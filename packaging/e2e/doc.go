// Package e2e drives the real program from outside: bin/pinion with its own containerd, real containers, and the real
// AWS clients. The tests need root, and end with nothing left on the machine.
package e2e
