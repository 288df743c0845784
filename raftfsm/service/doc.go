// Package service has the records of services: a desired number of equal tasks, and how one revision of them replaces another.
// It has the types and the rules that need no state machine. The names are those of Amazon ECS.
//
// A service goes step by step. StepService is what the reconciler computed for one version of a service: tasks that start and stop, ends that
// were noted, deployments, events. It is applied whole, or not at all when the service has another version by now, so two leaders never do the
// same twice. What a task's service has noted of its end is the one thing that changes of a STOPPED task; nobody else is told of it.
//
// A definition stays with what may run it. A service goes on starting tasks of a revision that is INACTIVE or deleted, as long as one of its
// deployments has it; Reap leaves such a revision. Only a new deployment needs an ACTIVE one.
//
// A revision of a service lives as long as its rollout: the newest 100, for 90 days, and while it is deployed. Both go with their service.
//
// A daemon is a service. Its name begins with daemon/, as does the family of what it runs: no name that a user gives has a slash, so both are
// spaces of their own (spec.DaemonPrefix), and the reconciler, limits, tags and snapshots know of daemons without a line more.
package service
