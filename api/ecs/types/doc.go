// Package types has the structures of Amazon ECS's JSON: inputs, outputs and what they hold. Most are generated from the
// service model (see gen), with JSON names and order as ECS has them; the others embed raftfsm's nouns.
package types

//go:generate go run ./gen
