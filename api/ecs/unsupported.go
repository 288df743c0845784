package ecs

import (
	"slices"

	"pinion/api/ecs/types"
	"pinion/api/wire"
)

// Why operations of ECS are refused.
const (
	reasonAgentProtocol = "hosts speak Pinion's own protocol with the cluster, not that of the Amazon ECS agent"
	reasonGateways      = "gateways are a service of AWS; there is none here"
)

// unsupportedOperations are the operations of ECS that Pinion knows by name and does not do, by the reason.
var unsupportedOperations = map[string][]string{
	reasonAgentProtocol: {
		"DiscoverPollEndpoint", "SubmitAttachmentStateChanges", "SubmitContainerStateChange", "SubmitTaskStateChange",
	},
	reasonGateways: {
		"AssociateGatewayWithCluster", "CreateExpressGatewayService", "CreateGateway", "DeleteExpressGatewayService", "DeleteGateway",
		"DescribeExpressGatewayService", "DescribeGateway", "DescribeGatewayResources", "DescribeGatewayRoute",
		"DisassociateGatewayFromCluster", "ListGatewayClusterAssociations", "ListGatewayRoutes", "ListGateways",
		"UpdateExpressGatewayService", "UpdateGateway",
	},
}

// UnsupportedReasons says for each operation of ECS that is known and not done why that is.
func UnsupportedReasons() map[string]string {
	byName := map[string]string{}
	for reason, names := range unsupportedOperations {
		for _, name := range names {
			byName[name] = reason
		}
	}
	return byName
}

const unsupportedFeature = "UnsupportedFeatureException"

// errUnsupported refuses an operation with the most telling error that its model has.
func errUnsupported(name, reason string) error {
	errorType := wire.Client
	if slices.Contains(types.Errors[name], unsupportedFeature) {
		errorType = unsupportedFeature
	}
	return wire.Errorf(errorType, "pinion: %s is not supported: %s", name, reason)
}
