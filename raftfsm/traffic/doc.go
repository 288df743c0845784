// Package traffic has the vocabulary of how requests reach tasks: load balancers, listeners, rules, target groups and targets, as the pool
// records them, and Routing, which is what the proxy of a host needs of them. It computes and nothing else.
package traffic
