package main

// What CreateService and UpdateService have in common. Whether a switch is given matters to an update.
var (
	serviceTypes = map[string]string{
		"enableECSManagedTags": "*bool", "enableExecuteCommand": "*bool",
	}
	serviceRefused = map[string]string{
		"serviceRegistries": noRegistry, "volumeConfigurations": noEBS, "vpcLatticeConfigurations": noLattice,
		"gatewayConnectors": noGateways, "monitoring": noMonitors,
	}
)
