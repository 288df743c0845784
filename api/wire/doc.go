// Package wire is the encoding of requests and responses: decoding that names the wrong field, errors as clients parse them,
// time stamps as ECS writes them. It knows no operation and no noun.
package wire
