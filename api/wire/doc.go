// Package wire is how the doors read and write: bodies that name the field that is wrong, errors as clients parse
// them, time stamps as ECS writes them. It knows no operation and no noun.
package wire
