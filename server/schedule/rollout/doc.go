// Package rollout has the rules of services: from what the state has of a service and its tasks it computes the next step to what the service
// is to be. It is pure, and remembers nothing between two steps: whatever a leader has to know is in the state, so the next leader goes on.
//
// A task of a service is live until it is asked to stop. A live one is current when it is of the PRIMARY deployment, not unhealthy, and neither on
// a host that is DRAINING nor, in a cluster that moves such tasks, on a GPU that has failed; the others are outdated and are replaced. A step
// starts tasks until there are enough current ones, as far as MaxTasks, limits and the back-off after failures allow; it stops those that current
// and healthy ones have replaced; and where the new ones find no room, it stops as many outdated ones first as they need, as far as MinHealthy
// allows.
//
// The deployments of an EXTERNAL service are task sets, of which none replaces another. A step is of one of them, by the same rules, as if it were
// the one deployment of a service with its part of the desired count.
package rollout
