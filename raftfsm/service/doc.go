// Package service is what a pool records of services: a desired number of equal tasks, and how one revision of them replaces another.
// It has the types and the rules that need no state machine. The names are those of Amazon ECS.
package service
