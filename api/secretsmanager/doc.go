// Package secretsmanager is AWS Secrets Manager, as far as a pool has use for it: secrets, their versions and stages. Nothing rotates them, and they have
// no policies and no replicas.
package secretsmanager
