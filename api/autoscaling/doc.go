// Package autoscaling is Application Auto Scaling as far as Pinion speaks it: scalable targets that are services, their policies, scheduled
// actions and activities. Whoever may change the desired count of a service may scale it.
package autoscaling
