// Package taskdef reads task definitions and overrides: it checks them as ECS does and makes the documents that the state
// records. It is pure: the same input gives the same document, or the same field.Error.
package taskdef
