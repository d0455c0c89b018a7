"""Zones fitted to each site's distribution: mixtures, probabilities of shapes, and the likeliest silence."""

from tacit.fitting.clusters import fit_clustered, moment_vectors
from tacit.fitting.common_shape import common_moves, fit_common
from tacit.fitting.drift import drift_score, drifted
from tacit.fitting.dual import fit_dual
from tacit.fitting.families import FAMILIES, Family, faces_of, region_rows
from tacit.fitting.general import fit_general
from tacit.fitting.joint import fit_joint, joint_chance
from tacit.fitting.likelihood import Likelihood
from tacit.fitting.mixtures import Mixture, fit_mixture
from tacit.fitting.probability import probability
from tacit.fitting.problem import ZoneFit, ZoneProblem
from tacit.fitting.repair import finished
from tacit.fitting.saturation import saturated
from tacit.fitting.scaled import ScaledFit, fit_scaled
from tacit.fitting.starting import common_limits
from tacit.fitting.vertices import VertexFit, fit_vertices

__all__ = [
    "FAMILIES",
    "Family",
    "Likelihood",
    "Mixture",
    "ScaledFit",
    "VertexFit",
    "ZoneFit",
    "ZoneProblem",
    "common_limits",
    "common_moves",
    "drift_score",
    "drifted",
    "faces_of",
    "finished",
    "fit_clustered",
    "fit_common",
    "fit_dual",
    "fit_general",
    "fit_joint",
    "fit_mixture",
    "fit_scaled",
    "fit_vertices",
    "joint_chance",
    "moment_vectors",
    "probability",
    "region_rows",
    "saturated",
]
