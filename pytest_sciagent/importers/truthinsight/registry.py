"""The forty tasks of TruthInsightBench V1.0, in the order of its registry, with domain and T0."""

from __future__ import annotations

TASKS: dict[str, tuple[str, str]] = {
    "Material_01_binary_superlattice": ("material_science", "2022-01-01"),
    "Life_01_dual_sensor_fusion": ("life_science", "2024-01-01"),
    "Neuro_01_self_organization_prediction": ("neuroscience", "2022-01-01"),
    "EarthScience_01_glacial_fluvial_erosion": ("earth_science", "2024-10-17"),
    "Physics_01_dynamic_nuclear_polarization_echoes": ("physics", "2024-06-26"),
    "Astronomy_02_radio_burst_drift": ("astronomy", "2022-10-13"),
    "Chemistry_04_bond_enthalpy_domain": ("chemistry", "2019-10-18"),
    "Physics_02_multiorbital_transition": ("physics", "2023-04-21"),
    "Physics_03_controlled_dynamics_forecast": ("physics", "2021-04-01"),
    "Physics_05_temporal_delay_transition": ("physics", "2023-09-25"),
    "Information_01_dynamics_generalization": ("information", "2024-10-02"),
    "Information_02_network_path_boundaries": ("information", "2018-10-29"),
    "Physics_07_variational_circuit_simulation": ("physics", "2020-03-30"),
    "Astronomy_04_gravity_spectral_structure": ("astronomy", "2022-01-01"),
    "Chemistry_07_photoionization_delay": ("chemistry", "2021-01-01"),
    "EarthScience_03_ice_particle_composition": ("earth_science", "2018-01-01"),
    "EarthScience_04_ice_core_event_structure": ("earth_science", "2019-01-01"),
    "Energy_01_photocatalytic_tradeoffs": ("energy", "2022-01-01"),
    "Energy_02_flow_battery_operating_boundary": ("energy", "2022-01-01"),
    "Information_03_signal_surface_invariants": ("information", "2022-01-01"),
    "Material_02_temperature_response_boundaries": ("material_science", "2022-01-01"),
    "Material_03_membrane_selective_permeation": ("material_science", "2023-01-01"),
    "Math_01_governing_equation_discovery": ("computational_mathematics", "2020-01-01"),
    "Astronomy_05_stellar_spectral_boundary": ("astronomy", "2023-01-01"),
    "Chemistry_08_catalysis_response_landscape": ("chemistry", "2023-01-01"),
    "EarthScience_05_ocean_thermal_coupling": ("earth_science", "2022-01-01"),
    "Energy_06_interface_response_boundaries": ("energy", "2022-01-01"),
    "Energy_07_biohybrid_operating_tradeoffs": ("energy", "2023-01-01"),
    "Information_04_connectome_assortative_structure": ("information", "2023-01-01"),
    "Life_06_contextual_immune_response": ("life_science", "2020-01-01"),
    "Life_07_nutrient_response_kinetics": ("life_science", "2020-01-01"),
    "Life_08_environmental_transfer_boundary": ("life_science", "2020-01-01"),
    "Life_09_developmental_interaction_structure": ("life_science", "2022-01-01"),
    "Material_06_nir_emission_structure": ("material_science", "2020-01-01"),
    "Math_02_compositional_invariants": ("computational_mathematics", "2020-01-01"),
    "Math_03_ode_parameter_geometry": ("computational_mathematics", "2022-01-01"),
    "Math_05_anomalous_diffusion_change_points": ("computational_mathematics", "2021-01-01"),
    "Neuro_02_calcium_response_regions": ("neuroscience", "2020-01-01"),
    "Neuro_03_spatial_code_stability": ("neuroscience", "2021-01-01"),
    "Neuro_05_temporal_geometry": ("neuroscience", "2022-01-01"),
}
"""Domain and T0 by task id."""

OTHER_NAMES = {
    "Astronomy_01_radio_burst_drift": "Astronomy_02_radio_burst_drift",
    "Astronomy_02_gravity_spectral_structure": "Astronomy_04_gravity_spectral_structure",
    "Astronomy_03_stellar_spectral_boundary": "Astronomy_05_stellar_spectral_boundary",
    "Chemistry_01_bond_enthalpy_domain": "Chemistry_04_bond_enthalpy_domain",
    "Chemistry_02_photoionization_delay": "Chemistry_07_photoionization_delay",
    "Chemistry_03_catalysis_response_landscape": "Chemistry_08_catalysis_response_landscape",
}
"""Ids of an earlier numbering, and what the registry calls the same study."""
