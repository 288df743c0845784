// Package names gives a host the names of Service Connect: it has their virtual addresses, on which the proxy listens, and answers DNS for them.
package names
