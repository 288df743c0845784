// Package linux has the options of a container that are Linux's own: capabilities, devices, and the security options of
// Docker.
package linux
