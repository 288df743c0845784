# A cluster, a log group and a task definition on a pool of Pinion.
#   eval "$(pinion env)"; terraform init; terraform apply -var "endpoint=$AWS_ENDPOINT_URL_ECS"

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" {
  type        = string
  description = "https://HOST:7400 of any host of the pool"
}

provider "aws" { # key, region and CA come from the environment
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true

  endpoints {
    ecs  = var.endpoint
    logs = var.endpoint
  }
}

resource "aws_ecs_cluster" "lab" {
  name = "lab"
}

resource "aws_ecs_cluster_capacity_providers" "lab" { # tasks wait for free GPUs instead of failing
  cluster_name       = aws_ecs_cluster.lab.name
  capacity_providers = ["PINION"]

  default_capacity_provider_strategy {
    capacity_provider = "PINION"
  }
}

resource "aws_cloudwatch_log_group" "train" {
  name              = "train"
  retention_in_days = 14
}

resource "aws_ecs_task_definition" "train" {
  family = "train"

  container_definitions = jsonencode([{
    name                 = "train"
    image                = "nvidia/cuda:12.4.1-base-ubuntu22.04"
    memory               = 1024
    command              = ["nvidia-smi"]
    resourceRequirements = [{ type = "GPU", value = "2" }]

    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.train.name
        awslogs-region        = "us-east-1"
        awslogs-stream-prefix = "train"
      }
    }
  }])
}
