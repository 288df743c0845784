// Package ecs is Amazon ECS as Pinion speaks it: the operations, their wire shapes, what they refuse and with which
// words. It knows no HTTP and no signature; the doors in package api hand it a body and write down its answer.
//
// An operation is a method of Call and one line in the table in operations.go.
package ecs
