// Package schedule decides on which host and which GPUs a task runs. It is pure: the same hosts and requests give the same
// decisions, and it neither records nor carries out anything.
package schedule
