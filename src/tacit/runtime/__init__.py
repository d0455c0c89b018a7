"""The live system: coordinator service, site agent, their stores, configuration, sinks. The only room with loops."""
