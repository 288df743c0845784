// Package secret has the secrets that a pool keeps for its tasks: the parameters of Systems Manager and the secrets of Secrets Manager, how the state
// keeps them, and the commands that change them. Package raftfsm registers both. Values are sealed: nothing here has one in clear.
package secret
