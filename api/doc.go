// Package api is the HTTP surface of a host. It assembles the packages beside it and holds the chain: the one order in which
// every request is handled.
package api
