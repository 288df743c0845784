// Package ecs is Amazon ECS as Pinion speaks it: the operations, what they refuse and with which words. It knows no HTTP and no
// signature: package api hands it a body and writes down its output.
//
// An operation is a function of a Request and its input, and one line of the table in operations.go.
package ecs
