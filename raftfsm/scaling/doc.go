// Package scaling has the types and the pure rules of what scales a service: its scalable target with policies, scheduled actions and
// activities, in the words of Application Auto Scaling. Package server/schedule/autoscale decides by them.
//
// A scalable target goes with its service. A decision to scale is taken only while the desired count is the one that it was made for.
package scaling
