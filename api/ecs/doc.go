// Package ecs is Amazon ECS as Pinion speaks it: the operations, what they refuse and with which words. It knows no HTTP and no
// signature: package api hands it a body and writes down its output.
//
// An operation is a function of a Request and its input, and one line of the table in operations.go.
package ecs

import (
	"pinion/api/ecs/call"
	"pinion/api/ecs/view"
)

// Request is one call of one operation; see call.Request.
type Request = call.Request

// What a request is given by package api; see package call.
type (
	Store       = call.Store
	HostRemover = call.HostRemover
	Ended       = call.Ended
	TaskCache   = view.TaskCache
)
