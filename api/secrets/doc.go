// Package secrets has what Parameter Store (api/ssm) and Secrets Manager (api/secretsmanager) have in common: which of the pool's parameters and
// secrets a caller may know of, read and change, how their values are sealed, the table of operations, pages and tags.
//
// Errors that are about a member of the input are of the type wire.Client, and get the type of the service in Service.
package secrets
