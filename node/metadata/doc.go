// Package metadata serves containers what they may know of their task: Amazon ECS's task metadata endpoint version 4 with statistics, and its agent
// API for task protection, at 169.254.170.2. In bridge mode the address is in the network namespace of the container, and what listens there serves that
// container alone; on the network of the host it is the host's, and the ids in the addresses tell containers apart. An id is 128 random bits, which the
// container has in its environment: who has it is the container.
package metadata
